/** Tests that the relay needs each of its permissions. Without a permission, a watch fails. */
import { afterAll, afterEach, expect, test } from "vitest";
import * as z from "zod/mini";
import { applyManifests } from "../../../infra/sandbox/index.ts";
import { RELAYS_NEEDS } from "../../support/manifests/least-privilege.ts";
import { readManifests, without } from "../../support/manifests/shipped.ts";
import { RBAC, soon, startStage } from "./stage.ts";

const stage = await startStage();
afterEach(() => stage.stopRelays());
afterAll(() => stage.stop());

const Line = z.object({ watch: z.optional(z.string()), reason: z.optional(z.string()) });

async function startWithout(permission?: string) {
  const manifests = readManifests(RBAC).map((one) => (permission === undefined ? one : without(one, permission)));
  await applyManifests(stage.client, manifests);
  const { length } = stage.log;
  const refused = () =>
    stage.log.slice(length).flatMap((line) => {
      const { watch, reason = "" } = Line.parse(JSON.parse(line));
      return watch !== undefined && /403|Forbidden/.test(reason) ? [watch] : [];
    });
  return { relay: stage.start(), refused };
}

test.each(RELAYS_NEEDS)("without $permission: $without", async (need) => {
  const { relay, refused } = await startWithout(need.permission);
  await soon(() => expect(refused()).toContain(need.refused));
  expect(relay.metrics()).toContain(`lifeboat_relay_watch_failures_total{watch="${need.refused}"}`);
  // Every refused watch belongs to the resource. Events have one watch for each reason that the kubelet reports.
  expect(refused().filter((watch) => !watch.startsWith(need.refused.replace("evicted", "")))).toEqual([]);
});

test("with all permissions, the relay is ready and no watch is refused", async () => {
  const { relay, refused } = await startWithout();
  await soon(() => expect(relay.isReady()).toBe(true));
  expect(refused()).toEqual([]);
});
