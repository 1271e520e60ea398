/** Least privilege of the relay, shown: each permission taken away, and the watch that then fails. */
import { afterAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { applyManifests } from "../../../infra/sandbox/index.ts";
import { RELAYS_NEEDS } from "../../support/manifests/least-privilege.ts";
import { readManifests, without } from "../../support/manifests/shipped.ts";
import { soon, startStage } from "./stage.ts";
import { RBAC } from "./stage.ts";

const stage = await startStage();
afterAll(() => stage.stop());
const token = await stage.install();

/** Watches that were refused. */
function refused(log: readonly string[]): readonly string[] {
  const Line = z.object({ watch: z.optional(z.string()), reason: z.optional(z.string()) });
  const lines = log.map((line) => Line.parse(JSON.parse(line)));
  return lines.flatMap(({ watch, reason }) =>
    watch !== undefined && /403|Forbidden/.test(reason ?? "") ? [watch] : [],
  );
}

/** With these permissions, as manifests; and what is logged from then on. */
async function start(manifests: ReturnType<typeof readManifests>) {
  await applyManifests(stage.client, manifests);
  const { length } = stage.log;
  return { relay: stage.startRelayAs(token), refusals: () => refused(stage.log.slice(length)) };
}

test.each(RELAYS_NEEDS)("without $permission: $without", async (need) => {
  const { relay, refusals } = await start(readManifests(RBAC).map((manifest) => without(manifest, need.permission)));
  await soon(() => expect(refusals()).toContain(need.refused));
  expect(relay.metrics()).toContain(`lifeboat_relay_watch_failures_total{watch="${need.refused}"}`);
  // A resource has one watch, or one for each of the kubelet's reasons.
  expect(refusals().filter((watch) => !watch.startsWith(need.refused.replace("evicted", "")))).toEqual([]);
  await relay.stop();
});

test("with all of them the relay becomes ready, and nothing is refused", async () => {
  const { relay, refusals } = await start(readManifests(RBAC));
  await soon(() => expect(relay.isReady()).toBe(true));
  expect(refusals()).toEqual([]);
});
