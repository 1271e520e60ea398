/** The relay's alert: a relay whose events Lifeboat does not take, and one that may not read. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Relay } from "../../infra/relay/relay.ts";
import type { Result } from "../../infra/relay/send.ts";
import { soon, type Stage, startStage } from "../relay/stage.ts";
import { Recording } from "./recording.ts";
import { firing } from "./shipped.ts";

/** For the alerts about Lifeboat itself. */
const ANSWERS = "lifeboat_credential_accepted 1\n";

let stage: Stage;
let recording: Recording;
beforeEach(async () => {
  recording = new Recording();
  stage = await startStage();
  recording.add({ job: "lifeboat" }, seconds(), ANSWERS);
});
afterEach(() => stage.stop());

const seconds = () => stage.clock.now().getTime() / 1000;

async function after(minutes: number, relay: Relay): Promise<readonly string[]> {
  for (let i = 0; i < minutes; i++) {
    stage.clock.advance(60_000);
    recording.add({ job: "lifeboat" }, seconds(), ANSWERS);
    recording.add({ job: "lifeboat-relay", pod: "lifeboat-relay-1" }, seconds(), relay.metrics());
  }
  return firing(recording, seconds());
}

/** Until the relay has counted such an answer of Lifeboat's. */
async function counted(relay: Relay, result: Result): Promise<void> {
  await soon(() => {
    stage.clock.advance(1_000);
    expect(relay.metrics()).not.toContain(`deliveries_total{lane="routine",result="${result}"} 0\n`);
  });
}

test("Lifeboat takes no events, then it does; then it refuses the relay's secret", async () => {
  const relay = await stage.startRelay();
  expect(await after(2, relay)).toEqual([]);
  stage.worker.answer(() => ({ code: 503 }));
  await stage.createVmi("web");
  await counted(relay, "unavailable");
  expect(await after(12, relay)).toEqual(["LifeboatRelaySilent"]);

  stage.worker.answer(() => ({ code: 204 }));
  await counted(relay, "accepted");
  expect(await after(12, relay)).toEqual([]);

  stage.worker.answer(() => ({ code: 401 }));
  await stage.createVmi("api");
  await counted(relay, "misconfigured");
  expect(await after(7, relay)).toEqual(["LifeboatRelaySilent"]);
});

test("a watch never has its list: a permission is missing", async () => {
  const relay = stage.startRelayAs("no token of this cluster");
  expect(await after(8, relay)).toEqual(["LifeboatRelaySilent"]);
});

test("no replica answers", async () => {
  const target = { job: "lifeboat-relay", pod: "lifeboat-relay-1" };
  for (let minute = 0; minute < 7; minute++) {
    stage.clock.advance(60_000);
    recording.add({ job: "lifeboat" }, seconds(), ANSWERS);
    recording.add(target, seconds(), undefined);
  }
  expect(firing(recording, seconds())).toEqual(["LifeboatRelaySilent"]);
});
