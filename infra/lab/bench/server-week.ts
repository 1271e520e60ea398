/** A week of the server in the cluster, on a clock that leaves out waiting. */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { secrets } from "../../sandbox/actors/resources.ts";
import { makeCertificate } from "../../server/certificate.ts";
import { HOST } from "../../server/names.ts";
import { SERVER } from "../stage/in-cluster.ts";
import type { MeasuredApiServer } from "./api-server.ts";
import { type MeasuredServer, startMeasuredServer, type Usage } from "./measured-server.ts";
import { movingVms } from "./moving-vms.ts";
import type { Vm } from "./population.ts";

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;
const VMS_AN_HOUR = 10;
const LOOK_MS = 100;
/** Of the ticks: one is left out where a look at everything takes longer than a minute, or while the API server is away. */
const LEAST_TICKS = 0.9;

export interface Week {
  /** At the beginning, and at the end of each day. */
  readonly days: readonly Usage[];
  readonly evacuations: number;
}

export async function runWeek(api: MeasuredApiServer, vms: readonly Vm[], days: number): Promise<Week> {
  const server = await startMeasuredServer(api, true);
  try {
    const moving = movingVms(api.client, server, vms);
    const used: Usage[] = [];
    for (let hour = 0; hour < days * DAY_HOURS; hour += 1) {
      await until(server, hour);
      if (hour % DAY_HOURS === 0) {
        used.push(await server.usage());
        await renewCertificate(api.client, server);
      }
      await moving.move(VMS_AN_HOUR);
      await api.restart();
    }
    await until(server, days * DAY_HOURS);
    used.push(await server.usage());
    expectTicks(used.at(-1));
    return { days: used, evacuations: moving.asked() };
  } finally {
    await server.stop();
  }
}

async function until(server: MeasuredServer, hour: number): Promise<void> {
  while ((await server.glance()).elapsedMs < hour * HOUR_MS) await delay(LOOK_MS);
}

/** One that ends in some hours takes the place of the server's: it makes another, announces it, serves it, forgets this one. */
async function renewCertificate(client: KubeClient, server: MeasuredServer): Promise<void> {
  const { now } = await server.glance();
  const validity = { notBefore: new Date(now - HOUR_MS), notAfter: new Date(now + 4 * HOUR_MS) };
  const { certPem, keyPem } = await makeCertificate(HOST, validity);
  const data = { "tls.crt": base64(certPem), "tls.key": base64(keyPem) };
  await client.patch(secrets, SERVER, { type: "merge", body: { data } });
}

function expectTicks(usage: Usage | undefined): void {
  const { minutes = 0, elapsedMs = 0, problems = [] } = usage ?? {};
  if (minutes < (elapsedMs / 60_000) * LEAST_TICKS) {
    throw new Error(`${minutes} minutes of ${Math.floor(elapsedMs / 60_000)} had a tick: ${JSON.stringify(problems)}`);
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
