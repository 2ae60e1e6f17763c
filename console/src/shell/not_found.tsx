// A path that names no screen.

import { place } from "../router.ts";
import { useTitle } from "../ui/title.ts";

export function NotFound() {
  useTitle("No such page");
  return (
    <section class="empty">
      <h1>No such page</h1>
      <p>
        <code>{place.value.path}</code> names nothing here. <a href="/runs">All runs</a>
      </p>
    </section>
  );
}
