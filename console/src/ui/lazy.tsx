// Components of rare.ts, which is fetched when the first of them is drawn.

import { createElement, type FunctionComponent } from "preact";
import { useLoaded } from "./loading.ts";
import { ProblemNote } from "./problem_note.tsx";
import { Waiting } from "./waiting.tsx";

type Rare = typeof import("../rare.ts");

let rare: Rare | null = null;

async function load(): Promise<Rare> {
  return rare = await import("../rare.ts");
}

/** Return a component that draws the one of this name once it is here. */
export function lazy<Name extends keyof Rare>(name: Name): Rare[Name] {
  function Lazy(props: object) {
    const { problem } = useLoaded(load, { key: "" });
    if (rare !== null) return createElement(rare[name] as FunctionComponent<object>, props);
    return problem ? <ProblemNote problem={problem} /> : <Waiting what="the screen" />;
  }
  return Lazy as unknown as Rare[Name];
}
