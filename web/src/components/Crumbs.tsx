/** Where a page stands: the list it belongs to, its id, and what can be done with it. */
import type { ReactNode } from "react";
import { Link } from "react-router";
import { CopyButton } from "./CopyButton";

interface Props {
  to: string;
  list: string;
  id: string;
  children?: ReactNode;
}

export function Crumbs({ to, list, id, children }: Props) {
  return (
    <div className="page-head crumbs">
      <nav className="grow cut" aria-label="Breadcrumb">
        <Link to={to}>{list}</Link>
        <span className="muted" aria-hidden="true">
          {" / "}
        </span>
        <span className="mono" title={id}>
          {id}
        </span>
        <CopyButton text={id} label="Copy id" className="tiny" />
      </nav>
      {children}
    </div>
  );
}
