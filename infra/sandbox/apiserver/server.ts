/** An API server in memory that serves HTTPS and behaves like kube-apiserver 1.36. */
import { once } from "node:events";
import { type Server, createServer } from "node:https";
import type { Socket } from "node:net";
import type { AggregatedApi } from "./aggregation.ts";
import { checkPolicies } from "./admission/type-checking.ts";
import type { Authority } from "../certificates.ts";
import { bootstrapObjects } from "./bootstrap.ts";
import { type ServerState, collectionOf, timestamp } from "./context.ts";
import { FaultPlan } from "./faults.ts";
import { KindRegistry } from "./kinds/registry.ts";
import { type KubeObject, isRecord } from "./objects.ts";
import { handleRequest } from "./pipeline.ts";
import { SecretTokenIssuer, type SecretTokenOf } from "./secret-tokens.ts";
import { TokenIssuer } from "./service-account-tokens.ts";
import { serveDefinitions, settleDefinitions } from "./served-kinds.ts";
import { Store } from "./store.ts";
import { PodNetwork } from "../processes/pod-network.ts";

export { type Effect, type Fault, FaultPlan } from "./faults.ts";

export interface ApiServerOptions {
  readonly authority: Authority;
  /** The port. Defaults to 0, which means any free port. */
  readonly port?: number;
  /** The users of static tokens, as in kube-apiserver's --token-auth-file. */
  readonly tokens: Readonly<Record<string, { readonly user: string; readonly groups?: readonly string[] }>>;
  /** CustomResourceDefinitions that exist when the server starts. */
  readonly definitions?: readonly KubeObject[];
  /** The addresses of the processes that run as pods. Webhooks with a Service are called at these addresses. */
  readonly network?: PodNetwork;
  /** Returns the current time, for timestamps, grace periods and the expiry of tokens. */
  readonly now?: () => Date;
  /** Sets a timer, for the bookmarks and the timeout of watches. */
  readonly setTimer?: ServerState["setTimer"];
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly faults: FaultPlan;
  /** Breaks all connections and refuses new connections, but keeps all objects. */
  suspend(): Promise<void>;
  /** Accepts connections again, on the same port and with the same objects. */
  resume(): Promise<void>;
  /**
   * Removes all earlier changes from the history, as etcd does every five minutes. Watches and lists at an earlier
   * revision get 410 Expired.
   */
  compact(): void;
  /** Issues a token for a Secret, as kube-controller-manager does. */
  issueSecretToken(of: SecretTokenOf): string;
  /** Forwards requests for this group and version to another server. */
  aggregate(groupVersion: string, api: AggregatedApi): void;
  stop(): Promise<void>;
}

const systemTimer: ServerState["setTimer"] = (ms, fn) => clearTimeout.bind(undefined, setTimeout(fn, ms));
const HOST = "127.0.0.1";

export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const state = createState(options);
  const { certPem: cert, keyPem: key } = await options.authority.issue([HOST, "localhost", "::1"]);
  const server = createServer({ cert, key }, (request, response) => void handleRequest(state, request, response));
  // Requests have no time limit, because watches are long.
  server.requestTimeout = 0;
  // Closes idle connections after 90 s, as the real server does.
  Object.assign(server, { keepAliveTimeout: 90_000, keepAliveTimeoutBuffer: 0 });
  // Ignores the errors of single connections, for example if too many files are open.
  server.on("error", () => undefined);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const port = await listen(server, options.port ?? 0);
  return {
    url: `https://${HOST}:${port}`,
    port,
    faults: state.faults,
    suspend: () => close(server, sockets),
    resume: async () => void (await listen(server, port)),
    compact: () => state.store.compact(),
    issueSecretToken: (of) => state.secretTokens.issue(of),
    aggregate: (groupVersion, api) => void state.aggregated.set(groupVersion, api),
    stop: () => close(server, sockets),
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, HOST);
  await once(server, "listening");
  const address = server.address();
  return isRecord(address) ? Number(address.port) : 0;
}

/**
 * Closes the server and all connections. The method `closeAllConnections` of Node.js does not close connections during
 * the TLS handshake.
 */
function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}

function createState(options: Omit<ApiServerOptions, "authority" | "port">): ServerState {
  const {
    tokens,
    definitions = [],
    network = new PodNetwork(),
    now = () => new Date(),
    setTimer = systemTimer,
  } = options;
  const users = Object.entries(tokens);
  const state: ServerState = {
    store: new Store(),
    kinds: new KindRegistry(),
    staticTokens: new Map(users.map(([token, { user, groups = [] }]) => [token, { username: user, groups }])),
    tokenIssuer: new TokenIssuer(),
    secretTokens: new SecretTokenIssuer(),
    faults: new FaultPlan(),
    failedOpen: new Map(),
    network,
    aggregated: new Map(),
    now,
    setTimer,
  };
  serveDefinitions(state);
  checkPolicies(state);
  for (const object of [...bootstrapObjects(), ...structuredClone(definitions)]) seed(state, object);
  settleDefinitions(state);
  return state;
}

function seed(state: ServerState, object: KubeObject): void {
  const kind = state.kinds.ofObject(object.apiVersion, object.kind);
  if (kind === undefined) throw new Error(`no kind ${object.apiVersion} ${object.kind}`);
  object.metadata.uid = crypto.randomUUID();
  object.metadata.creationTimestamp = timestamp(state.now());
  if (kind.hasGeneration) object.metadata.generation = 1;
  kind.applyDefaults(object);
  collectionOf(state, kind).create(object);
}
