// Search, filters and order of the list of runs; the URL holds them.

import type { ComponentChildren } from "preact";
import { get } from "../api.ts";
import { capitalized, flowName } from "../formats.ts";
import { place, setQuery } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { Fold } from "../ui/fold.tsx";
import { useLoaded } from "../ui/loading.ts";
import { SearchField } from "../ui/search_field.tsx";
import { RUN_STATUSES } from "../wire.ts";
import { ORDERS, tagsIn } from "./filter.ts";
import { SPANS } from "./listing.ts";

export function Filters() {
  const { query } = place.value;
  const given = (name: string) => query.get(name) ?? "";
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter runs"
      onSubmit={(event) => event.preventDefault()}
    >
      <label class="filter text">
        <span class="unseen">Search runs</span>
        <SearchField
          id="runs-text"
          placeholder="Search requests, answers, errors, arguments"
          value={given("search")}
          onChange={(search) => setQuery({ search })}
        />
      </label>
      <Choice name="status" label="Status" all="Any status">
        {RUN_STATUSES.map((status) => (
          <option key={status} value={status}>{capitalized(status)}</option>
        ))}
      </Choice>
      <Choice name="since" label="Started" all="Any time">
        {Object.entries(SPANS).map(([span, { label }]) => (
          <option key={span} value={span}>{label}</option>
        ))}
        {given("since") && !SPANS[given("since")] && (
          <option value={given("since")}>Since {given("since")}</option>
        )}
      </Choice>
      <Choice name="sort" label="Order">
        {Object.entries(ORDERS).map(([order, label]) => (
          <option key={order} value={order}>{label}</option>
        ))}
      </Choice>
      <label class="filter check">
        <input
          type="checkbox"
          checked={query.has("asking")}
          onChange={(event) => setQuery({ asking: event.currentTarget.checked ? "1" : null })}
        />
        Waiting for you
      </label>
      <Further />
      {tagsIn(query).map((tag) => (
        <Button
          key={tag}
          small
          label={`Stop filtering by ${tag}`}
          onClick={() => setQuery({ tag: tagsIn(query).filter((each) => each !== tag).join("\n") })}
        >
          {tag} <span aria-hidden="true">×</span>
        </Button>
      ))}
    </form>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly all?: string;
  readonly children: ComponentChildren;
}

function Choice({ name, label, all, children }: ChoiceProps) {
  return (
    <label class="filter">
      <span class="unseen">{label}</span>
      <select
        aria-label={label}
        value={place.value.query.get(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
      >
        {all && <option value="">{all}</option>}
        {children}
      </select>
    </label>
  );
}

const AMOUNTS = {
  min_cost_usd: "Cost from ($)",
  max_cost_usd: "Cost to ($)",
  min_duration_s: "Duration from (s)",
  max_duration_s: "Duration to (s)",
} as const;

/** The filters that are rarely used: flow, cost and duration. Open while one of them is set. */
function Further() {
  const { query } = place.value;
  const used = ["flow", ...Object.keys(AMOUNTS)].some((name) => query.get(name));
  return (
    <Fold class="further" summary="More filters" opened={used}>
      <div class="further-fields">
        <Choice name="flow" label="Flow" all="Any flow">
          <FlowNames />
        </Choice>
        {Object.entries(AMOUNTS).map(([name, label]) => (
          <label key={name} class="amount">
            {label}
            <SearchField
              inputMode="decimal"
              value={query.get(name) ?? ""}
              onChange={(text) =>
                setQuery({ [name]: Number.isFinite(Number(text)) ? text.trim() : "" })}
            />
          </label>
        ))}
      </div>
    </Fold>
  );
}

function FlowNames() {
  const { value } = useLoaded((options) => get("/api/flows", {}, options), { key: "flows" });
  const names = value === null ? [] : value.flows.map(({ name }) => name);
  return <>{names.map((name) => <option key={name} value={name}>{flowName(name)}</option>)}</>;
}
