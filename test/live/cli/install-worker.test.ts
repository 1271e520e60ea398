/** `lifeboat install --worker` beside a Worker that takes its time: one of the test's own. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createNode } from "../../../infra/sandbox/fleet.ts";
import { type Sandbox, startSandbox } from "../../../infra/sandbox/sandbox.ts";
import { WEBHOOK_CONFIGURATIONS } from "../stage.ts";
import { untilFilled } from "./install-stage.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

type Answer = readonly [code: number, body: object];

let sandbox: Sandbox;
let server: Server;
let url: string;
let folder: string;
/** What the Worker answers; a scan may take as long as it says. */
let answers: Record<"readyz" | "evictions" | "reconcile", () => Answer | Promise<Answer>>;

beforeEach(async () => {
  sandbox = await startSandbox();
  await createNode(sandbox.client, "node01");
  answers = {
    readyz: () => [200, { ready: true, message: "accepted" }],
    evictions: () => [400, {}],
    reconcile: () => [200, { done: {}, failures: 0 }],
  };
  const { certPem, keyPem } = await sandbox.authority.issue(["127.0.0.1"]);
  server = createServer({ cert: certPem, key: keyPem }, (request, response) => void respond(request.url, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  url = `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  await writeFile(join(folder, "ca.pem"), sandbox.authority.caPem);
});
afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
  await sandbox.stop();
  await rm(folder, { recursive: true });
});

async function respond(path: string | undefined, response: ServerResponse): Promise<void> {
  const door = (["readyz", "evictions", "reconcile"] as const).find((one) => path?.endsWith(`/${one}`));
  const [code, body] = door === undefined ? [404, {}] : await answers[door]();
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function install(flags = `--ca-bundle ${join(folder, "ca.pem")}`) {
  const line = `install --worker ${url} --cluster prod --entry ${join(folder, "entry.json")} ${flags}`;
  return lifeboat(line, { kubeconfig: sandbox.kubeconfig, meanwhile: () => untilFilled(sandbox) });
}

const isInstalled = async () => (await sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })) !== undefined;

/** From now on the time of `AbortSignal.timeout` passes only when it is told to. */
function holdTimeouts() {
  const waiting: { readonly ms: number; readonly abort: AbortController }[] = [];
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const abort = new AbortController();
    waiting.push({ ms, abort });
    return abort.signal;
  });
  return {
    pass(seconds: number) {
      for (const { ms, abort } of waiting) if (ms <= seconds * 1000) abort.abort();
    },
  };
}

test("the first scan takes 45 s: it is waited for; and it comes when the webhook is there", async () => {
  const clock = holdTimeouts();
  const seen: boolean[] = [];
  answers.reconcile = async () => {
    seen.push(await isInstalled());
    clock.pass(45);
    return [200, { done: {}, failures: 0 }];
  };
  const { code, err } = await install();
  expect({ code, err }).toEqual({ code: 0, err: expect.arrayContaining(["√ the Worker has looked at every VM"]) });
  expect(seen).toEqual([true]);
});

test("it takes longer than --timeout: said so", async () => {
  const clock = holdTimeouts();
  answers.reconcile = () => {
    clock.pass(600);
    return new Promise(() => undefined);
  };
  const { code, err } = await install();
  expect({ code, last: err.at(-1) }).toEqual({
    code: 1,
    last: "error: the Worker has not answered POST /reconcile within 600 s",
  });
});

test.each(["readyz", "evictions"] as const)(
  "the Worker has another token for %s: what to do, and no webhook",
  async (door) => {
    answers[door] = () => [401, { error: { reason: "Unauthorized" } }];
    const { code, err } = await install();
    expect(code).toBe(1);
    const unknown = /^The Worker does not know this cluster yet, or not with these tokens\. Give it \S+entry\.json /;
    expect(err).toContainEqual(expect.stringMatching(unknown));
    expect(err.at(-1)).toEqual(
      expect.stringMatching(
        /^error: the Worker is not ready: it does not know this cluster, or this entry of it, after \d+ s$/,
      ),
    );
    expect(await isInstalled()).toBe(false);
  },
);

test("without --ca-bundle its certificate is not trusted", async () => {
  const { code, err } = await install("");
  expect({ code, last: err.at(-1) }).toEqual({
    code: 1,
    last: expect.stringMatching(/^error: the Worker cannot be reached at \S+: .*certificate/),
  });
});
