/** Each alert's situation, brought about in a cluster: what the real exposition makes of it, and which alerts fire then. */
import { beforeEach, describe, expect, test } from "vitest";
import { type Before, failing, FORBIDDEN } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { type FakeDoors, openFakeDoors } from "../functions/support/fake-doors.ts";
import { evictionOf } from "../functions/support/reviews.ts";
import { EXTERNAL, evacuation, marked, NOW, PINNED, pod, time, vmi } from "../policy/fixtures.ts";
import { type Labels, Recording } from "./recording.ts";
import { firing } from "./shipped.ts";

const TARGET = { job: "lifeboat", instance: "lifeboat.example.com:443", cluster: "prod" };
const replica = (pod: string) => ({ job: "lifeboat", pod });
const HOUR = 60;
const DAY = 24 * HOUR;

let fake: FakeCluster;
let recording: Recording;
/** Since the beginning. */
let minute = 0;
/** Before each request to the API server. */
let before: Before;

beforeEach(() => {
  fake = new FakeCluster();
  fake.isTokenAccepted = true;
  recording = new Recording();
  minute = 0;
  before = () => undefined;
});

/** `endsIn`: when the token ends, in minutes from the beginning. */
function open(endsIn = 30 * DAY): FakeDoors {
  const exp = NOW.getTime() / 1000 + endsIn * 60;
  const token = `header.${btoa(JSON.stringify({ exp }))}.signature`;
  return openFakeDoors(fake, (request) => before(request), { token });
}

const seconds = () => NOW.getTime() / 1000 + minute * 60;

/** What fires after so many minutes with a scrape each. */
async function after(minutes: number, doors: FakeDoors, target: Labels = TARGET): Promise<readonly string[]> {
  for (let i = 0; i < minutes; i++) {
    minute += 1;
    doors.pass(60);
    const { code, text } = await doors.metrics();
    recording.add(target, seconds(), code === 200 ? text : undefined);
  }
  return firing(recording, seconds());
}

test("nothing fires: an evacuation begins and ends, a scrape fails", async () => {
  const doors = open();
  fake.vmis.put(marked());
  fake.evacuations.put(evacuation());
  expect(await after(20, doors)).toEqual([]);
  fake.vmis.put(vmi({ nodeName: "node02", activePods: { "another-pod": "node02" } }));
  await doors.reconcile();
  before = failing(/./);
  expect(await after(1, doors)).toEqual([]);
  before = () => undefined;
  expect(await after(1, doors)).toEqual([]);
  expect(await after(20, doors)).toEqual([]);
});

const REFUSED = { reason: "Refused", code: 401, request: "the request" } as const;

// prettier-ignore
const SITUATIONS: readonly (readonly [string, string, number, (doors: FakeDoors) => Promise<void> | void])[] = [
  ["the webhook is gone",               "LifeboatNotAsked",           11,       () => void fake.ownWebhooks.set("lifeboat", "Absent")],
  ["the API server is out of reach",    "LifeboatBlind",              6,        () => void (before = failing(/./))],
  ["a permission is missing",           "LifeboatBlind",              6,        () => void (before = failing(/^listEvacuations/))],
  ["the token is refused",              "LifeboatBlind",              6,        refuseToken],
  ["VMIs cannot be read, evictions come", "LifeboatBlind",            6,        evictBlindly],
  ["a migration does not end",          "LifeboatEvacuationStuck",    HOUR + 6, () => put("Migrating")],
  ["attempts fail again and again",     "LifeboatEvacuationStuck",    HOUR + 6, () => put("BackingOff")],
  ["every attempt has failed",          "LifeboatEvacuationAbandoned", 1,       abandon],
  ["a disk is not shared",              "LifeboatDrainBlocked",       16,       (doors) => block(doors, PINNED)],
  ["the VM's owner does nothing",       "LifeboatDrainBlocked",       16,       (doors) => block(doors, EXTERNAL)],
];

function put(phase: "Migrating" | "BackingOff"): void {
  fake.evacuations.put(evacuation({ status: { phase } }));
}

function refuseToken(): void {
  fake.isTokenAccepted = false;
  before = failing(/^(?!isTokenAccepted)/, REFUSED);
}

/** The pod is a VM's, so the answer is 429. */
async function evictBlindly(doors: FakeDoors): Promise<void> {
  fake.configure({});
  fake.pods.put(pod());
  before = failing(/^getVmi$/, FORBIDDEN);
  await doors.evict(evictionOf(pod()));
  await doors.settle();
}

async function abandon(doors: FakeDoors): Promise<void> {
  fake.vmis.put(marked());
  fake.evacuations.put(evacuation({ status: { phase: "BackingOff", attempts: 5, nextAttemptTime: time(0) } }));
  await doors.reconcile();
}

async function block(doors: FakeDoors, tweak: Parameters<typeof marked>[0]): Promise<void> {
  fake.vmis.put(marked(tweak));
  fake.evacuations.put(evacuation());
  await doors.reconcile();
}

describe("what fires when", () => {
  test.each(SITUATIONS)("%s: %s", async (_, alert, minutes, happen) => {
    const doors = open();
    expect(await after(2, doors)).toEqual([]);
    await happen(doors);
    expect(await after(minutes, doors)).toEqual([alert]);
  });
});

describe("who is scraped", () => {
  test("none at all: blind", async () => {
    recording.add({ job: "another" }, seconds(), "");
    expect(await after(7, open(), { job: "another" })).toEqual(["LifeboatBlind"]);
  });

  test.each([
    ["is down", undefined],
    ["says nothing about the cluster", "# EOF\n"],
  ])("the other replica %s: not blind", async (_, text) => {
    const doors = open();
    for (let i = 0; i < 10; i++) {
      recording.add(replica("lifeboat-2"), seconds(), text);
      await after(1, doors, replica("lifeboat-1"));
    }
    expect(firing(recording, seconds())).toEqual([]);
  });

  test("no replica says anything about the cluster: blind", () => {
    for (minute = 0; minute < 7; minute++) {
      for (const pod of ["lifeboat-1", "lifeboat-2"]) recording.add(replica(pod), seconds(), "# EOF\n");
    }
    expect(firing(recording, seconds() - 60)).toEqual(["LifeboatBlind"]);
  });
});

describe("the token", () => {
  test("ends within a week", async () => {
    expect(await after(12, open(7 * DAY))).toEqual(["LifeboatCredentialEnding"]);
  });

  test("ends within a week, and is replaced", async () => {
    expect(await after(12, open(7 * DAY))).toEqual(["LifeboatCredentialEnding"]);
    expect(await after(12, open(90 * DAY))).toEqual([]);
  });

  test("lasts an hour, and is renewed all the time as that of a pod", async () => {
    for (let renewals = 0; renewals < 5; renewals++) await after(50, open(minute + HOUR));
    expect(firing(recording, seconds())).toEqual([]);
  });
});
