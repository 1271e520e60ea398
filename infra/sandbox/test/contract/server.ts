/** The server that is asked: the sandbox's, or with LIFEBOAT_CONTROL_PLANE a real kube-apiserver, each with a disruption controller. */
import { Agent, request as httpsRequest } from "node:https";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startApiServer } from "../../apiserver/server.ts";
import { controllerPrograms, serverPrograms } from "../../binaries/kubernetes.ts";
import { createPrograms } from "../../binaries/programs.ts";
import { createAuthority } from "../../certificates.ts";
import { freePort } from "../../free-port.ts";
import { createIdentities } from "../../identities.ts";
import { kubeconfigText } from "../../kubeconfig.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** JSON by default; empty for a body without a type. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the administrator's token. */
  readonly token?: string;
}

export interface Response {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as an object; a watch's as its `events`; otherwise `{}`. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Server {
  readonly isReal: boolean;
  readonly kubeconfig: string;
  send(request: Request): Promise<Response>;
  stop(): Promise<void>;
}

interface Endpoint {
  readonly isReal: boolean;
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  readonly stop: () => Promise<void>;
}

/** With a controller for budgets, if it is wanted: it would overwrite what a scenario says of them. */
export async function connect({ controllers = false } = {}): Promise<Server> {
  const directory = process.env["LIFEBOAT_CONTROL_PLANE"];
  const endpoint = await (directory ? startPrograms(join(directory, "bin"), controllers) : startSimulated(controllers));
  const { url, ca: caPem, token, isReal } = endpoint;
  const agent = new Agent({ ca: caPem, keepAlive: true });
  return {
    isReal,
    kubeconfig: kubeconfigText({ url, caPem, user: "admin", token }),
    send: (request) => send(url, agent, { token, ...request }),
    async stop() {
      agent.destroy();
      await endpoint.stop();
    },
  };
}

async function startSimulated(controllers: boolean): Promise<Endpoint> {
  if (!controllers) {
    const authority = await createAuthority("contract");
    const { tokens, tokenOf } = createIdentities();
    const server = await startApiServer({ authority, tokens });
    const [ca, token] = [authority.caPem, tokenOf("admin")];
    return { isReal: false, url: server.url, ca, token, stop: () => server.stop() };
  }
  const { startSandbox } = await import("../../sandbox.ts"); // not loaded beside a real one
  const sandbox = await startSandbox({ empty: true });
  const { url, caPem: ca, adminToken: token } = sandbox;
  return { isReal: false, url, ca, token, stop: () => sandbox.stop() };
}

/** etcd and kube-apiserver; of the controllers the one for budgets. */
async function startPrograms(binaries: string, controllers: boolean): Promise<Endpoint> {
  await using started = new AsyncDisposableStack();
  const programs = await createPrograms("contract-");
  started.defer(() => programs.stop());
  const { folder } = programs;
  const authority = await createAuthority("contract");
  const { tokens, tokenOf } = createIdentities();
  const [host, token, ca] = ["127.0.0.1", tokenOf("admin"), authority.caPem];
  const ports = { etcd: await freePort(), peers: await freePort(), server: await freePort() };
  const url = `https://${host}:${ports.server}`;
  const where = { binaries, folder, authority };
  const serviceRange = "10.0.0.0/24";
  for (const program of await serverPrograms({ ...where, tokens, host, ports, serviceRange })) programs.start(program);
  const agent = new Agent({ ca });
  const isReady = async () => (await send(url, agent, { method: "GET", path: "/readyz", token })).code === 200;
  await programs.until("kube-apiserver was ready", isReady);
  agent.destroy();
  const kubeconfigOf = async () => {
    const user = "controllerManager";
    await writeFile(join(folder, user), kubeconfigText({ url, caPem: ca, user, token: tokenOf(user) }));
    return join(folder, user);
  };
  const [manager] = await controllerPrograms({ binaries, folder, kubeconfigOf });
  if (controllers && manager)
    programs.start({ ...manager, args: [...manager.args.slice(0, -1), "--controllers=disruption"] });
  const running = started.move();
  return { isReal: true, url, ca, token, stop: () => running.disposeAsync() };
}

const WATCH = /[?&]watch(?:=1|=true|&|$)/;
const QUIET_MS = 150;

function send(url: string, agent: Agent, request: Request): Promise<Response> {
  const { method, path, body, type = "application/json", headers, token } = request;
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(new URL(path, url), {
      method,
      agent,
      headers: {
        accept: "application/json",
        ...(payload !== undefined && { "content-length": Buffer.byteLength(payload) }),
        ...(payload !== undefined && type !== "" && { "content-type": type }),
        authorization: `Bearer ${token}`,
        ...headers,
      },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      incoming.setEncoding("utf8");
      let text = "";
      const answered = () =>
        resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body: bodyOf(text, path) });
      let quiet: NodeJS.Timeout | undefined;
      incoming.on("data", (chunk: string) => {
        text += chunk;
        clearTimeout(quiet);
        // What happened before comes at once.
        if (WATCH.test(path)) quiet = setTimeout(() => outgoing.destroy(), QUIET_MS);
      });
      incoming.on("error", () => undefined);
      incoming.on("close", () => {
        clearTimeout(quiet);
        answered();
      });
    });
    outgoing.end(payload);
  });
}

function bodyOf(text: string, path: string): Response["body"] {
  if (WATCH.test(path) && text.includes('"type"')) {
    const lines = text.split("\n").filter((line) => line !== "");
    return { events: lines.map((line): unknown => JSON.parse(line)) };
  }
  if (!text.startsWith("{")) return { text };
  const body: Response["body"] = JSON.parse(text);
  return body;
}
