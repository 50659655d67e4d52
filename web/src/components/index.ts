/** The design system. */
export { Badge, StatusBadge, type Tone } from "./Badge";
export { Chart, ChartGroup } from "./Chart";
export { ConfirmOnce } from "./ConfirmOnce";
export { Address, CommandLine, CopyButton } from "./CopyButton";
export { type DataColumn, DataTable, type Sort } from "./DataTable";
export { Facts, PageView } from "./PageView";
export { Prose } from "./Prose";
export { Scrubber } from "./Scrubber";
export { StaticTable, TableView } from "./StaticTable";
export { EmptyState, ErrorState, Loading, ProgressBar } from "./states";
export { plainTile, Tile, Tiles } from "./Tiles";
export { Time } from "./Time";
export { toast, toastError } from "./Toast";
export { type GridColumn, VirtualGrid } from "./VirtualGrid";
