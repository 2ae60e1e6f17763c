// The entry point: start what the whole page shares, and draw the shell.

import { render } from "preact";
import { startClock } from "./clock.ts";
import { startKeys } from "./keys.ts";
import { startRouter } from "./router.ts";
import { App } from "./shell/app.tsx";
import { startSession } from "./shell/session_check.ts";

startRouter();
startKeys();
startClock();
startSession();
render(<App />, document.getElementById("console")!);
