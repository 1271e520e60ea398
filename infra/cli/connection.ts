/** Connects to the cluster in the kubeconfig. */
import { KubeConfig } from "@kubernetes/client-node";
import * as z from "zod/mini";
import { createClient } from "../../shared/kube/client.ts";
import { sender, type Endpoint, type Fetch } from "../../shared/kube/transport.ts";
import { SettingsCache } from "../../shared/settings/load-settings.ts";
import { kubeFetch } from "../relay/kube-fetch.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { printable, quoted, withoutControls } from "./print.ts";
import { unreadNews } from "./unread.ts";

export interface ConnectionOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  /** The time limit of a request, in seconds. */
  readonly requestTimeout: number;
}

export type Connection = ReturnType<typeof openConnection>;

/** Opens a connection, which calls `warn` once for each object that it cannot parse. */
export function openConnection(options: ConnectionOptions, host: Host, warn: (line: string) => void) {
  const config = loadKubeConfig(options, host);
  const server = config.getCurrentCluster()?.server.replace(/\/+$/, "");
  const context = config.getCurrentContext();
  if (server === undefined || context === MADE_UP) throw new Failed(noCluster(context));
  const heard = listening(kubeFetch(config), server);
  const endpoint: Endpoint = { server, token: "", headers: {}, fetch: heard.fetch };
  const signal = () => AbortSignal.any([host.interrupted, AbortSignal.timeout(options.requestTimeout * 1000)]);
  const cache = new SettingsCache();
  const onOddItem = unreadNews(warn);
  /** Creates a client for each use, because a client's time limit starts when the client is created. */
  const cluster = () =>
    createClient({
      endpoint,
      signal: signal(),
      timeout: (ms) => AbortSignal.timeout(ms),
      onOddItem,
    });
  return {
    context,
    server,
    /** Uses `-n`, or the namespace of the context, or `default`. */
    namespace: options.namespace ?? config.getContextObject(context)?.namespace ?? "default",
    cluster,
    send: () => sender(endpoint, signal()),
    settings: async () => (await cache.load(context, cluster(), host.now())).settings,
    /** The API server's messages about refused requests, keyed by method and path. */
    refusals: heard.refusals,
    /** The API server's warnings, keyed by method and path. */
    warnings: heard.warnings,
    /** The reason why the last connection broke. */
    trouble: heard.trouble,
  };
}

function loadKubeConfig({ kubeconfig, context }: ConnectionOptions, { env }: Host): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    const file = kubeconfig ?? env["KUBECONFIG"] ?? "~/.kube/config";
    // Shows only the first line of the parser's error, because the lines after it can quote a token.
    const [what = ""] = messageOf(cause).split("\n");
    throw new Failed(MESSAGES.kubeconfigUnread(file, printable(what)), { cause });
  }
  if (context === undefined) return config;
  const known = config.getContexts().map(({ name }) => name);
  if (!known.includes(context)) throw new Failed(MESSAGES.noContext(context, known));
  config.setCurrentContext(context);
  return config;
}

/** client-node uses this context name if it finds no kubeconfig. */
const MADE_UP = "loaded-context";

function noCluster(context: string | undefined): string {
  if (context === MADE_UP) return MESSAGES.noKubeconfig;
  return context ? MESSAGES.noCluster(context) : MESSAGES.noCurrentContext;
}

const Status = z.object({ message: z.string() });

/**
 * Returns a `fetch` that removes terminal control characters from every answer and records the messages of refusals.
 * The client in shared/kube, which the Worker also uses, drops these messages.
 */
function listening(fetch: Fetch, server: string) {
  const refusals = new Map<string, string>();
  const warnings = new Map<string, string>();
  let trouble: string | undefined;
  const listeningFetch: Fetch = async (url, init) => {
    try {
      const response = await fetch(url, init);
      const [path = ""] = url.slice(server.length).split("?");
      const request = `${init.method ?? "GET"} ${path}`;
      const warning = response.headers.get("warning");
      if (warning) warnings.set(request, quoted(warning));
      const text = withoutControls(await response.text());
      if (response.status < 400) return new Response(text || null, { status: response.status });
      const said = Status.safeParse(parsed(text));
      if (said.success) refusals.set(request, quoted(said.data.message));
      return new Response(text, { status: response.status });
    } catch (error) {
      trouble = rootOf(error);
      throw error;
    }
  };
  return { fetch: listeningFetch, refusals, warnings, trouble: () => trouble };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function rootOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : messageOf(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
