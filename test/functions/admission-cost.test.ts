/** What the settings' cache saves, cluster by cluster; what each answer costs besides is in request-counts.test.ts. */
import { afterEach, describe, expect, test } from "vitest";
import { CANNED_VMI, type CannedAnswers, configured, list, startCannedCluster } from "./support/canned-cluster.ts";
import { entry, openDoors } from "./support/doors.ts";
import { allowance, refusal, review } from "./support/reviews.ts";
import { json, type StubServer } from "./support/stub-server.ts";

const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

const servers: StubServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(answers: CannedAnswers): Promise<StubServer> {
  const server = await startCannedCluster(answers);
  servers.push(server);
  return server;
}

describe("the settings' cache", () => {
  test("serves 30 s, then the change is seen", async () => {
    let strategy = "LiveMigrate";
    const server = await start({
      vmi: json({ ...CANNED_VMI, spec: {} }),
      kubevirt: (response, request) =>
        list({
          metadata: CANNED_VMI.metadata,
          spec: { configuration: { evictionStrategy: strategy } },
        })(response, request),
    });
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    strategy = "None";
    doors.pass(29);
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    doors.pass(1);
    expect(await review(doors)).toMatchObject({ body: allowance() });
  });

  test("is one for each cluster: what one says is never another's", async () => {
    const ofCluster = async (evictionStrategy: string) => {
      const kubevirt = list({ metadata: CANNED_VMI.metadata, spec: { configuration: { evictionStrategy } } });
      return await start({ vmi: json({ ...CANNED_VMI, spec: {} }), kubevirt });
    };
    const [moving, indifferent] = [await ofCluster("LiveMigrate"), await ofCluster("None")];
    const doors = openDoors({ CLUSTERS: { moving: entry(moving.url), indifferent: entry(indifferent.url) } });
    for (let round = 0; round < 2; round++) {
      expect(await review(doors, undefined, { cluster: "moving" })).toMatchObject({ body: refusal(TRIGGERED) });
      expect(await review(doors, undefined, { cluster: "indifferent" })).toMatchObject({ body: allowance() });
    }
  });

  test("of a wrong configuration: warm or cold, the webhook goes on", async () => {
    const server = await start({ configuration: configured({ marking: "By hand" }) });
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    for (const seconds of [0, 1, 30]) {
      doors.pass(seconds);
      expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    }
  });
});
