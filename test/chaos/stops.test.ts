/** Owners stop their VMs: what virt-handler was refused after that is a delay, unless the call was under way. */
import { expect, test } from "vitest";
import { createStopCheck } from "../../infra/chaos/stops.ts";
import type { Event } from "../../infra/sandbox/actors/resources.ts";
import { vmi } from "./objects.ts";

const web = vmi({ deleting: true });
const DELETED = Date.parse("2026-01-01T00:01:00Z");

function refused(seconds: number, reason = "SyncFailed", uid = web.metadata.uid): Event {
  const lastTimestamp = new Date(DELETED + seconds * 1000).toISOString();
  const metadata = {
    namespace: "run-1",
    name: "said",
    uid: "said",
    resourceVersion: "1",
    creationTimestamp: lastTimestamp,
  };
  return { metadata, involvedObject: { uid }, reason, lastTimestamp };
}

const late = ["run-1/web was deleted by its owner, and its shutdown refused 5 s later"];

// prettier-ignore
test.each<[string, Event, of: typeof web, readonly string[]]>([
  ["before",                        refused(-60),                   web,                     []],
  ["by a call that was under way",  refused(4),                     web,                     []],
  ["afterwards",                    refused(5),                     web,                     late],
  ["of another VM",                 refused(5, "SyncFailed", "db"), web,                     []],
  ["of a VM that its owner keeps",     refused(5),                     vmi(),                   []],
  ["which is no refusal",           refused(5, "Killing"),          web,                     []],
])("refused %s", (_, event, of, expected) => {
  const check = createStopCheck();
  check.vmiChanged(of, undefined);
  check.vmiChanged(undefined, of);
  expect(check.delayedBy([event])).toEqual(expected);
});
