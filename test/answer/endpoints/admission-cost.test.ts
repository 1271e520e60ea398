/** What an answer costs the API server, and what the settings' cache saves, cluster by cluster. */
import { describe, expect, test } from "vitest";
import { CANNED_EVACUATION, CANNED_MARKED, CANNED_VMI, configured, list } from "../../support/canned-cluster.ts";
import { openCanned, startCannedCluster } from "../../support/canned-cluster.ts";
import { entry, openDoors } from "../../support/doors.ts";
import { allowance, refusal, review } from "../../support/reviews.ts";
import { json } from "../../support/answers.ts";

const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';
const IN_PROGRESS = `Evacuation in progress: ${TRIGGERED}`;

const open = openCanned;

const byCluster = (evictionStrategy: string) =>
  startCannedCluster({
    vmi: json({ ...CANNED_MARKED, spec: {} }),
    evacuations: list(CANNED_EVACUATION),
    kubevirt: list({ metadata: CANNED_VMI.metadata, spec: { configuration: { evictionStrategy } } }),
  });

describe("the settings' cache", () => {
  test("serves 30 s, then the change is seen", async () => {
    let strategy = "LiveMigrate";
    const [, doors] = open({
      vmi: json({ ...CANNED_VMI, spec: {} }),
      kubevirt: (request, signal) =>
        list({
          metadata: CANNED_VMI.metadata,
          spec: { configuration: { evictionStrategy: strategy } },
        })(request, signal),
    });
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    strategy = "None";
    doors.pass(29);
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    doors.pass(1);
    expect(await review(doors)).toMatchObject({ body: allowance() });
  });

  test("is one for each cluster: what one says is never another's", async () => {
    const [moves, stays] = [byCluster("LiveMigrate"), byCluster("None")];
    const doors = openDoors({ CLUSTERS: { moves: entry(moves.url), stays: entry(stays.url) } });
    for (let round = 0; round < 2; round++) {
      expect(await review(doors, undefined, { cluster: "moves" })).toMatchObject({ body: refusal(IN_PROGRESS) });
      expect(await review(doors, undefined, { cluster: "stays" })).toMatchObject({ body: allowance() });
    }
  });

  test("of a wrong configuration: warm or cold, the webhook goes on", async () => {
    const [, doors] = open({ configuration: configured({ disruptionBudgets: "By hand" }) });
    for (const seconds of [0, 1, 30]) {
      doors.pass(seconds);
      expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    }
  });
});
