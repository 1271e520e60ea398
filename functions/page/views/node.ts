/** A node: whether a drain of it ends, and how far one is that goes on. */
import { html } from "hono/html";
import { observePreflight } from "../../../shared/pass/observe-preflight.ts";
import { preflight } from "../../../shared/policy/preflight/preflight.ts";
import type { Preflight } from "../../../shared/policy/preflight/result.ts";
import { RejectionError } from "../../rejection.ts";
import type { LivePage, PageContext, Visit } from "../visit.ts";

const READ_SECONDS = 25;

export function nodePage({ target }: Visit, c: PageContext): LivePage<Preflight> {
  const name = c.req.param("node") ?? "";
  return {
    key: `node ${name}`,
    title: name,
    maxAgeMs: 2000,
    async read() {
      const cluster = target.connect(READ_SECONDS);
      const { settings } = await target.settings(cluster);
      const flags = { force: false, deleteEmptyDirData: false };
      const facts = await observePreflight(name, flags, { cluster, settings, now: target.platform.now() });
      if (facts === undefined) throw new RejectionError("NodeNotFound");
      return preflight(facts);
    },
    view: (result) =>
      html`<h1>${result.node}</h1>
        <p>${result.summary}</p>`,
  };
}
