/** What a page costs: that of a node with 500 VMs, against the requests it needs. */
import { Agent, request } from "node:http";
import { COOKIE, signGrant } from "../../../../functions/page/session.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { installLifeboat, type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { bundle } from "../bundle.ts";
import { type Measurement, measured, measuredP95Against } from "../measurement.ts";
import type { RunPart } from "../part.ts";
import { createLaunchers, createPlaces, createPlannedVms, planVm } from "../population.ts";
import { type ProxiedRequest, startApiProxy } from "../../stage/api-proxy.ts";
import { type BareWorkerd, startBareWorkerd } from "../workerd.ts";

const part = "page";
const VMS = 500;
const NODE = planVm(0).node;
/** The first visits of an isolate compile what they run. */
const WARM_UP = 10;
const TOKENS = { webhookToken: "webhook-token-of-the-benchmark", operatorToken: "operator-token-of-the-benchmark" };

export const runPage: RunPart = async ({ quick, note }) => {
  const server = await startMeasuredApiServer();
  try {
    await installLifeboat(server.client, { disruptionBudgets: "Never" });
    note(`creating a node with ${VMS} VMs`);
    await createPlaces(server.client, 0, VMS);
    const planned = numbered(VMS).map((index) => ({ ...planVm(index), node: NODE }));
    await createLaunchers(server.client, await createPlannedVms(server.client, planned));
    return await measureVisits(server, quick ? 10 : 40, note);
  } finally {
    await server.stop();
  }
};

/** Each visit is the first of a cluster of its own, all with the same API server: nothing has been read before. */
async function measureVisits(
  server: MeasuredApiServer,
  visits: number,
  note: (line: string) => void,
): Promise<readonly Measurement[]> {
  const entry = { token: server.lifeboatToken, ...TOKENS };
  const proxy = await startApiProxy(server);
  const names = numbered(visits + WARM_UP).map((index) => `c${index}`);
  const clusters = Object.fromEntries(names.map((name) => [name, { server: server.url, ...entry }]));
  const pages = await startBareWorkerd({
    bundle: await bundle("lifeboat"),
    clusters: { ...clusters, recorded: { server: proxy.url, ...entry } },
    caPem: server.caPem,
  });
  const reading = await startBareWorkerd({
    bundle: await bundle("reading"),
    clusters: { bench: { server: server.url, token: server.lifeboatToken } },
    caPem: server.caPem,
  });
  try {
    await visit(pages, "recorded");
    const stages = stagesOf(proxy.requests);
    const count = proxy.requests.length;
    note(`${visits} visits, and as often the ${count} requests alone, in ${stages.length} stages`);
    const [samples, floor]: [number[], number[]] = [[], []];
    for (const [index, name] of names.entries()) {
      const [page, bare] = [await visit(pages, name), await read(reading, stages)];
      if (index >= WARM_UP) samples.push(page.ms);
      if (index >= WARM_UP) floor.push(bare.ms);
    }
    const what = `a node with ${VMS} VMs`;
    return [
      measuredP95Against({ part, what: `${what}: 95th percentile`, unit: "ms", target: 2 }, samples, {
        what: "its requests alone, parsed",
        samples: floor,
      }),
      measured({ part, what: `${what}: requests`, unit: "requests" }, [count]),
    ];
  } finally {
    await Promise.all([pages.stop(), reading.stop(), proxy.stop()]);
  }
}

async function visit(worker: BareWorkerd, cluster: string) {
  const until = Math.floor(Date.now() / 1000) + 3600;
  const visitor = { cluster, name: "operator", mayAct: true, until };
  const grant = await signGrant(visitor, { server: "", token: "", headers: {}, ...TOKENS });
  const headers = { cookie: `${COOKIE}=${grant}` };
  const answer = await ask(`${worker.url}/fleet/${cluster}/nodes/${NODE}`, { headers });
  if (answer.code !== 200 || !answer.text.includes("vm-00199")) throw new Error(`the page answered ${answer.code}`);
  return answer;
}

/** Those of a stage were sent before any of them was answered; the next one may need their answers. */
function stagesOf(requests: readonly ProxiedRequest[]): readonly (readonly string[])[] {
  const stages: string[][] = [];
  let before = -1;
  for (const [index, { path, after }] of requests.entries()) {
    if (after > before) {
      stages.push([]);
      before = index;
    }
    stages.at(-1)?.push(path);
  }
  return stages;
}

async function read(worker: BareWorkerd, stages: readonly (readonly string[])[]) {
  const answer = await ask(worker.url, { method: "POST", body: JSON.stringify(stages) });
  if (answer.code !== 200) throw new Error(`the floor answered ${answer.code} ${answer.text}`);
  return answer;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const agent = new Agent({ keepAlive: true, timeout: 1000 });

function ask(url: string, { body, ...asked }: Asked) {
  return new Promise<{ ms: number; code: number; text: string }>((resolve, reject) => {
    const begin = performance.now();
    const outgoing = request(url, { ...asked, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ ms: performance.now() - begin, code: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
