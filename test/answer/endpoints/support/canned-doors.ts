/** One canned cluster and the doors to it, until the test ends. */
import { onTestFinished } from "vitest";
import type { Platform } from "../../../../functions/env.ts";
import { type CannedAnswers, startCannedCluster } from "../../../support/canned-cluster.ts";
import { type Doors, entry, openDoors } from "../../../support/doors.ts";
import type { Behaviour, StubServer } from "../../../support/stub-server.ts";

export async function startForTest(answers?: CannedAnswers | Behaviour): Promise<StubServer> {
  const server = await startCannedCluster(answers);
  onTestFinished(() => server.stop());
  return server;
}

export async function openCanned(
  answers?: CannedAnswers | Behaviour,
  instead?: Partial<Platform>,
): Promise<[StubServer, Doors]> {
  const server = await startForTest(answers);
  return [server, openDoors({ CLUSTERS: { prod: entry(server.url) } }, undefined, instead)];
}
