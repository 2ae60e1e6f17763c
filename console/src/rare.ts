// The screens that are rarely used: a file of their own, fetched when one of them is opened.

export { Report } from "./report/report.tsx";
export { Revisions } from "./report/revisions.tsx";
export { ContinueDialog, LimitFields } from "./run/actions/new_limits.tsx";
export { ModelCall } from "./run/inspector/model_call.tsx";
export { PlanGraph } from "./run/orders/plan_graph.tsx";
export { Usage } from "./run/outputs/usage_tab.tsx";
export { StageStrip } from "./report/stage_strip.tsx";
export { ToolsScreen } from "./tools/tools_screen.tsx";
export { WorkersScreen } from "./workers/workers_screen.tsx";
