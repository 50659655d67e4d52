import { Link } from "react-router";
import { EmptyState } from "../components/states";
import { useTitle } from "./useTitle";

export function NotFound() {
  useTitle("Not found");
  return (
    <>
      <div className="page-head">
        <h1>Not found</h1>
      </div>
      <EmptyState title="There is no page at this address">
        <p>
          It may have been mistyped. <Link to="/runs">All runs</Link>
        </p>
      </EmptyState>
    </>
  );
}
