/**
 * Connects to the server under test: the sandbox's API server, or a real kube-apiserver if LIFEBOAT_CONTROL_PLANE is
 * set.
 */
import { Agent } from "node:https";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startApiServer } from "../../apiserver/server.ts";
import { controllerPrograms, serverPrograms } from "../../binaries/kubernetes.ts";
import { createPrograms } from "../../binaries/programs.ts";
import { createAuthority } from "../../certificates.ts";
import { freePort } from "../../free-port.ts";
import { createIdentities } from "../../identities.ts";
import { kubeconfigText } from "../../kubeconfig.ts";
import { type Request, type Response, send, WATCH } from "../send.ts";

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

/**
 * Connects to the server. Runs the disruption controller only if `controllers` is true, because the controller would
 * overwrite the status that scenarios write into their budgets.
 */
export async function connect({ controllers = false } = {}): Promise<Server> {
  const directory = process.env["LIFEBOAT_CONTROL_PLANE"];
  const endpoint = await (directory ? startPrograms(join(directory, "bin"), controllers) : startSimulated(controllers));
  const { url, ca: caPem, token, isReal } = endpoint;
  const agent = new Agent({ ca: caPem, keepAlive: true });
  return {
    isReal,
    kubeconfig: kubeconfigText({ url, caPem, user: "admin", token }),
    async send(request) {
      const answer = await send({ url, agent, token }, request);
      return { ...answer, body: bodyOf(answer, request.path) };
    },
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
  const { startSandbox } = await import("../../sandbox.ts");
  const sandbox = await startSandbox({ empty: true });
  const { url, caPem: ca, adminToken: token } = sandbox;
  return { isReal: false, url, ca, token, stop: () => sandbox.stop() };
}

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
  const isReady = async () => (await send({ url, agent, token }, { method: "GET", path: "/readyz" })).code === 200;
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

/** Returns the body as an object. Returns `{events}` for a watch, and `{text}` for a body that is not JSON. */
function bodyOf({ text, body }: Response, path: string): Response["body"] {
  if (WATCH.test(path) && text.includes('"type"')) {
    const lines = text.split("\n").filter((line) => line !== "");
    return { events: lines.map((line): unknown => JSON.parse(line)) };
  }
  return text.startsWith("{") ? body : { text };
}
