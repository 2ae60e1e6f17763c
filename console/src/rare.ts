// The screens that are rarely used: a file of their own, fetched when one of them is opened.

export { CompareScreen } from "./compare/compare_screen.tsx";
export { Report } from "./report/report.tsx";
export { Revisions } from "./report/revisions.tsx";
export { HostWait } from "./run/host_wait.tsx";
export { LabelsDialog } from "./run/labels_dialog.tsx";
export { ContinueDialog, LimitFields } from "./run/new_limits.tsx";
export { ModelCall } from "./run/model_call.tsx";
export { OrderTable } from "./run/order_table.tsx";
export { PlanGraph } from "./run/plan_graph.tsx";
export { Usage } from "./run/usage_tab.tsx";
export { StageStrip } from "./report/stage_strip.tsx";
export { RunsChart } from "./runs/chart.tsx";
export { SystemScreen } from "./system/system_screen.tsx";
export { ToolsScreen } from "./tools/tools_screen.tsx";
export { WorkersScreen } from "./workers/workers_screen.tsx";
