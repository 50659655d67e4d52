/** Draw a report page in the order of the HTML reports: verdict, tiles, chart, summary, sections, provenance. */
import type { ReactNode } from "react";
import type { PageBlock, PageData } from "../api/types";
import { sentence, shortened } from "../lib/format";
import { Badge } from "./Badge";
import { Chart, ChartGroup } from "./Chart";
import { CommandLine } from "./CopyButton";
import { Prose } from "./Prose";
import { Scrubber } from "./Scrubber";
import { TableView } from "./StaticTable";
import { Tiles } from "./Tiles";

interface Props {
  page: PageData;
  /** Heading of the verdict: 1 where it is the title of the page, 2 below another. */
  level?: 1 | 2;
  /** Called with the step nearest to a click in a chart over time. */
  onStep?: (step: number) => void;
  /** Whether the line above the verdict is shown; false where the page's head says it already. */
  subject?: boolean;
  /** Draw a block in another way; undefined draws it as usual, null leaves it out. */
  renderBlock?: (block: PageBlock) => ReactNode | undefined;
}

export function PageView({ page, level = 1, subject = true, onStep, renderBlock }: Props) {
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <ChartGroup>
      <article className="page-view" data-testid="page-view">
        <section id="answer" aria-labelledby="verdict">
          {subject && <p className="subject">{page.subject}</p>}
          <Heading id="verdict" className="verdict" data-testid="verdict">
            <Badge tone={page.verdict.tone}>{page.verdict.badge}</Badge> {page.verdict.sentence}
          </Heading>
          {page.verdict.interval && (
            <p className="interval">
              <Prose text={page.verdict.interval} />
            </p>
          )}
          <p className="origin">{page.provenance.summary || <FirstFacts facts={page.provenance.facts} />}</p>
          <Tiles tiles={page.tiles} />
          {page.hero && <Chart chart={page.hero} onStep={onStep} className="hero" />}
          <Summary page={page} />
        </section>
        {page.sections.map((section) => (
          <section key={section.id} id={section.id} aria-labelledby={`${section.id}-title`}>
            <h2 id={`${section.id}-title`}>
              <a className="anchor" href={`#${section.id}`}>
                {section.title}
              </a>
            </h2>
            {section.lead && (
              <p className="lead">
                <Prose text={section.lead} />
              </p>
            )}
            <div className="blocks">
              {section.blocks.map((block, at) => {
                const own = renderBlock?.(block);
                return own === undefined ? (
                  <Block key={at} block={block} onStep={onStep} />
                ) : (
                  own && <div key={at}>{own}</div>
                );
              })}
            </div>
          </section>
        ))}
        <section id="provenance" aria-labelledby="provenance-title">
          <h2 id="provenance-title">
            <a className="anchor" href="#provenance">
              Provenance
            </a>
          </h2>
          <p className="lead">
            <Prose text={page.provenance.note} />
          </p>
          {page.provenance.command && (
            <CommandLine text={page.provenance.command} label="Command that repeats the result" />
          )}
          <Facts pairs={page.provenance.facts} />
        </section>
      </article>
    </ChartGroup>
  );
}

function FirstFacts({ facts }: { facts: [string, string][] }) {
  return facts.slice(0, 4).map(([name, value], at) => (
    <span key={name}>
      {at > 0 && " · "}
      {name}{" "}
      <span className="num" title={value}>
        {shortened(value)}
      </span>
    </span>
  ));
}

function Summary({ page }: { page: PageData }) {
  return (
    <>
      {page.summary.length > 0 && (
        <div className="summary">
          <h2>Summary</h2>
          {page.summary.map((sentence, at) => (
            <p key={at}>
              <Prose text={sentence} />
            </p>
          ))}
        </div>
      )}
      {page.notes.length > 0 && (
        <aside className="limits" aria-labelledby="limits-title">
          <h2 id="limits-title">What limited the result</h2>
          <ul>
            {page.notes.map((note, at) => (
              <li key={at}>
                <Prose text={sentence(note)} />
              </li>
            ))}
          </ul>
        </aside>
      )}
    </>
  );
}

export function Facts({ pairs }: { pairs: [string, string][] }) {
  return (
    <dl className="facts">
      {pairs.map(([name, value], at) => (
        <div key={at} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Block({ block, onStep }: { block: PageBlock; onStep?: (step: number) => void }) {
  switch (block.kind) {
    case "chart":
      return <Chart chart={block} onStep={onStep} />;
    case "table":
      return <TableView table={block} />;
    case "text":
      return (
        <div className={block.tone === "plain" ? "text" : `box ${block.tone}`}>
          {block.bullets ? (
            <ul>
              {block.paragraphs.map((each, at) => (
                <li key={at}>
                  <Prose text={each} />
                </li>
              ))}
            </ul>
          ) : (
            block.paragraphs.map((each, at) => (
              <p key={at}>
                <Prose text={each} />
              </p>
            ))
          )}
        </div>
      );
    case "facts":
      return (
        <div className="factbox">
          {block.title && <h3>{block.title}</h3>}
          <Facts pairs={block.pairs} />
        </div>
      );
    case "code":
      return block.folded ? (
        <details className="fold">
          <summary>{block.title}</summary>
          <pre className="document" tabIndex={0} role="group" aria-label={block.title}>
            <code>{block.text}</code>
          </pre>
        </details>
      ) : (
        <div className="codebox">
          {block.title && <h3>{block.title}</h3>}
          <CommandLine text={block.text} label={block.title || "Command"} />
        </div>
      );
    case "scrubber":
      return <Scrubber block={block} />;
    case "log":
      return <CommandLine text={block.command} label="Command that exports all actions" />;
  }
}
