/** What explain says is what an eviction then gets, whatever the cluster looks like, if nothing changes in between. */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clusterOf, PATH } from "../generators/clusters.ts";
import { at, textOf } from "../generators/json.ts";
import { NAMESPACE } from "../generators/objects.ts";
import { Store } from "../generators/store.ts";
import { vm } from "../generators/vms.ts";
import { NOW } from "../policy/fixtures.ts";
import * as support from "./support/doors.ts";
import { explain } from "./support/explained.ts";
import { allowance, evictionOf, refusal, review } from "./support/reviews.ts";
import { json, startStubServer, type StubServer } from "./support/stub-server.ts";
import { startWriting } from "./support/written.ts";

let server: StubServer;
let store: Store;
beforeAll(async () => {
  server = await startStubServer((request) => {
    const { code, body } = store.answer(request);
    return json(body, code);
  });
});
afterAll(() => server.stop());

const off = { evacuation: false, annotations: "Disabled", disruption: false, pressure: false };
const configuration = fc
  .constantFrom("Enabled", "Enabled", "Disabled")
  .map((budget) => ({ reconcilers: { ...off, budget } }));
const anyCluster = clusterOf(vm, configuration);
const isRuling = ({ door }: Readonly<Record<string, unknown>>) => door === "admission/evictions";

test("verdict, words and actions", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyCluster, fc.noBias(fc.nat()), async ({ collections }, which) => {
      store = new Store(collections);
      const pods = collections[PATH.pods] ?? [];
      const pod = { namespace: NAMESPACE, name: textOf(at(pods[which % pods.length], "metadata", "name")) };
      const written = startWriting();
      const doors = support.openDoors({ CLUSTERS: { prod: support.entry(server.url) } }, (...request) => {
        // Once the ruling is logged, what goes on is none of the answer's: the cluster is gone.
        if (doors.log.some(isRuling)) throw new TypeError("fetch failed");
        return written.before(...request);
      });
      doors.pass((NOW.getTime() - support.NOW.getTime()) / 1000);
      const { decision, actions } = await explain(doors, pod);
      await doors.settle();
      expect(written.take()).toEqual([]);
      const { allowed, message, reason, warnings } = decision;
      const expected = allowed ? allowance(warnings.length > 0 ? { warnings } : {}) : refusal(message);
      const { body } = await review(doors, evictionOf(pod));
      expect(body).toEqual(expected);
      expect(written.take()).toEqual(actions);
      expect(doors.log.find(isRuling)).toMatchObject({ reason });
      await doors.settle();
      seen.add([reason, ...actions].join(" "));
    }),
    { seed: 20_261_122, numRuns: 400 },
  );
  expect([...seen].toSorted()).toMatchInlineSnapshot(`
    [
      "BackingOff",
      "BackingOff EnsureBudget",
      "EvacuationInProgress",
      "EvacuationInProgress CreateEvacuation",
      "EvacuationInProgress CreateEvacuation EnsureBudget",
      "EvacuationInProgress EnsureBudget",
      "EvacuationTriggered CreateEvacuation EnsureBudget Mark",
      "EvacuationTriggered CreateEvacuation GrowBudget Mark",
      "EvacuationTriggered CreateEvacuation Mark",
      "EvacuationTriggered EnsureBudget Mark",
      "EvacuationTriggered GrowBudget Mark",
      "EvacuationTriggered Mark",
      "HotplugOfLiveVmi",
      "HotplugOfLiveVmi EnsureBudget",
      "MigrationTarget",
      "MigrationTarget EnsureBudget",
      "NotAVirtualMachine",
      "NotMigratable",
      "NotMigratable EnsureBudget",
      "NotScheduled",
      "NotScheduled EnsureBudget",
      "PodCompleted",
      "ShutdownByStrategy",
      "ShutdownByStrategy Unmark",
      "StrategyNone",
      "UnknownStrategy",
      "UnknownStrategy EnsureBudget",
      "VmiDeleting",
      "VmiFinal",
      "VmiGone",
    ]
  `);
});
