/**
 * Tests that only the replica with the Lease starts scheduled runs (ticks), and that another replica takes over the
 * Lease.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createSteppedClock, leases, type Sandbox, type SteppedClock } from "../../../infra/sandbox/index.ts";
import { SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import { Leadership } from "../../../infra/server/leadership.ts";
import type { Client } from "../../../shared/kube/client.ts";
import { startInstalled } from "../../support/installed/in-cluster.ts";

let sandbox: Sandbox;
let connect: () => Client;
beforeAll(async () => {
  ({ sandbox, connect } = await startInstalled());
});
afterAll(() => sandbox.stop());

let clock: SteppedClock;
let [a, b]: readonly Leadership[] = [];
const failures: unknown[] = [];
afterEach(() => expect(failures).toEqual([]));
beforeEach(async () => {
  await sandbox.client.patch(leases, SERVER, { type: "merge", body: { spec: { holderIdentity: null } } });
  clock = createSteppedClock();
  [a, b] = ["a", "b"].map((identity) => replica(identity));
});

function replica(identity: string): Leadership {
  return new Leadership({ identity, clock, connect, onFailure: (error) => failures.push(error) });
}

const leaders = () => [a?.isLeader(), b?.isLeader()];
const holder = async () => (await sandbox.client.get(leases, SERVER))?.spec?.holderIdentity;

test("the first replica takes and renews the Lease, and the other replica waits", async () => {
  for (let times = 0; times < 5; times += 1) {
    await a?.renew();
    await b?.renew();
    expect(leaders()).toEqual([true, false]);
    clock.advance(5_000);
  }
});

test("of two simultaneous replicas, one takes the Lease", async () => {
  await Promise.all([a?.renew(), b?.renew()]);
  expect(leaders().filter(Boolean)).toHaveLength(1);
});

test("when the holder is gone, the other replica takes over after the duration of the Lease", async () => {
  await a?.renew();
  await b?.renew();
  clock.advance(14_900);
  await b?.renew();
  expect(leaders()).toEqual([true, false]);
  clock.advance(100);
  await b?.renew();
  expect(leaders()).toEqual([false, true]);
  await a?.renew();
  expect(leaders()).toEqual([false, true]);
  expect((await sandbox.client.get(leases, SERVER))?.spec).toMatchObject({ holderIdentity: "b" });
});

test("a replica that ends gives the Lease back, so the other need not wait", async () => {
  const stopping = new AbortController();
  const kept = a?.keep(stopping.signal);
  await expect.poll(holder).toBe("a");
  stopping.abort();
  await kept;
  await b?.renew();
  expect(leaders()).toEqual([false, true]);
});
