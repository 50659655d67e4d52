/** Links to a report as one HTML file and, where there is one, as PDF. */
export function ReportLinks({ html, pdf }: { html: string; pdf?: string }) {
  return (
    <>
      <a className="button" href={html} target="_blank" rel="noreferrer" data-testid="report-link">
        Report
      </a>
      {pdf && (
        <a className="button quiet" href={pdf} target="_blank" rel="noreferrer">
          PDF
        </a>
      )}
    </>
  );
}
