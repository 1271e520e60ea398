/** Tests that Lifeboat and its command obey their contracts for any objects of Lifeboat's kinds. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { run } from "../../../infra/cli/run.ts";
import { machineOf } from "../../support/cli/machine.ts";
import { NODE, NOW } from "../../support/fixtures.ts";
import { KERNEL, kinds, WEEKEND } from "../../support/generators/kinds.ts";
import { VMS } from "../../support/generators/clusters.ts";
import { NAMESPACE } from "../../support/generators/objects.ts";
import type { StubServer } from "../../support/stub-server.ts";
import { SECRETS } from "./canaries.ts";
import { HostileCluster, hostility } from "./cluster/hostile-cluster.ts";
import { quickly, startHostileServer } from "./cluster/hostile-server.ts";
import { LONG, property } from "./property.ts";
import { SIGNED_IN } from "./requests/pages.ts";
import type { FuzzedRequest } from "./requests/request.ts";
import { makeVisit, unprinted } from "./visit.ts";

const beside = fc.tuple(hostility, kinds).map(([drawn, own]) => {
  const { cluster, ...rest } = drawn;
  return { ...rest, cluster: { ...cluster, collections: { ...cluster.collections, ...own } } };
});

const asked = (token: string) => [["authorization", `Bearer ${token}`]] as const;
const PAGE = [
  ["accept", "text/html"],
  ["cookie", SIGNED_IN],
] as const;
const page = (path: string): FuzzedRequest => ({ method: "GET", path: `/fleet/prod${path}`, headers: PAGE });
const RECONCILE: FuzzedRequest = {
  method: "POST",
  path: "/clusters/prod/reconcile",
  headers: asked(SECRETS.webhookToken),
};
const READS: readonly FuzzedRequest[] = [
  { method: "GET", path: "/clusters/prod/metrics", headers: asked(SECRETS.operatorToken) },
  page(""),
  page(`/nodes/${NODE}`),
  page(`/nodeevacuations/${KERNEL}`),
  page(`/rollingmaintenances/${WEEKEND}`),
  page(`/vms/${NAMESPACE}/${VMS[0]}`),
];

const course = fc.record({ hostility: beside, reads: fc.shuffledSubarray([...READS], { minLength: 2, maxLength: 3 }) });
const visits = property(
  "any object of Lifeboat's kinds",
  course.map((drawn) => ({ ...drawn, ...unprinted })),
  async ({ hostility: drawn, reads }) => {
    const requests = [RECONCILE, ...reads, RECONCILE].map((request) => ({ make: () => request, pause: 31 as const }));
    return await makeVisit({ hostility: drawn, registryFails: false, requests, ...unprinted });
  },
);

test(
  "beside any object of Lifeboat's kinds, a reconcile, the metrics and each page keep their contracts",
  LONG,
  async () => {
    const reached = await visits.check(60);
    expect([...reached.keys()]).toEqual(
      expect.arrayContaining(["reconcile 200", "metrics 200", "maintenancePage 200"]),
    );
  },
);

let folder: string;
let server: StubServer;
let cluster: HostileCluster | undefined;
beforeAll(async () => {
  server = await startHostileServer(() => {
    if (cluster === undefined) throw new Error("no cluster yet");
    return cluster;
  });
  folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  const named = { name: "fuzz", cluster: { server: server.url, "insecure-skip-tls-verify": true } };
  const users = [{ name: "fuzz", user: { token: SECRETS.token } }];
  const contexts = [{ name: "fuzz", context: { cluster: "fuzz", user: "fuzz" } }];
  const config = { apiVersion: "v1", kind: "Config", clusters: [named], users, contexts, "current-context": "fuzz" };
  await writeFile(join(folder, "config"), JSON.stringify(config));
  vi.spyOn(console, "log").mockReturnValue();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await server.stop();
  await rm(folder, { recursive: true });
});

const COMMANDS = [
  "status",
  "status -o json",
  `status ${NODE} -o wide`,
  `status rollm/${WEEKEND}`,
  `report rollm/${WEEKEND}`,
  `report rollm/${WEEKEND} -o markdown`,
  `report nodeevacuation/${KERNEL} -o json`,
  `explain node ${NODE}`,
  `plan ${NODE}`,
  `pause nodeevacuation/${KERNEL} -y`,
  `resume rollm/${WEEKEND} -y`,
];
const commands = property(
  "any object of Lifeboat's kinds, to the command",
  fc.record({ drawn: beside, line: fc.constantFrom(...COMMANDS) }).map((given) => ({ ...given, ...unprinted })),
  async ({ drawn, line }) => {
    cluster = new HostileCluster(drawn, quickly);
    const { host, out, err } = machineOf({ started: NOW });
    const code = await run(["--kubeconfig", join(folder, "config"), ...line.split(" ")], host);
    const [shown, said] = [out.join(""), err.join("")];
    expect([0, 1, 2, 3, 4], line).toContain(code);
    expect(`${shown}${said}`, line).not.toMatch(/^ +at |node:internal|ZodError|a defect of/m);
    expect(`${shown}${said}`, line).not.toContain(SECRETS.token);
    if (!line.endsWith("json")) expect(shown, line).not.toMatch(CONTROLS);
    return [`${line} ${code}`, String(code)];
  },
);
// oxlint-disable-next-line no-control-regex -- these are what a terminal obeys
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/u;

test(
  "beside any object of Lifeboat's kinds, the command ends with a known code and with lines for people",
  LONG,
  async () => {
    const reached = await commands.check(80);
    for (const code of ["0", "1"]) expect(reached.get(code) ?? 0).toBeGreaterThan(3);
  },
);
