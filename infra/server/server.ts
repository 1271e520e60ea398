/** Runs the app of functions/app.ts and the relay for one cluster in one process. */
import { randomUUID } from "node:crypto";
import type { ExecutionContext } from "hono";
import { createApp } from "../../functions/app.ts";
import type { Env, Platform } from "../../functions/env.ts";
import { actOn } from "../../functions/events.ts";
import { findEntry, newIsolateState, targetOf } from "../../functions/target.ts";
import { runTick } from "../../functions/schedule.ts";
import { createClient } from "../../shared/kube/client.ts";
import { type Clock, pause } from "../relay/clock.ts";
import { type Log, reasonOf } from "../relay/log.ts";
import { type Relay, startRelay } from "../relay/relay.ts";
import { startProbes } from "../relay/probes.ts";
import type { Deliver } from "../relay/send.ts";
import type { Account } from "./account.ts";
import { trustIn } from "./certificate.ts";
import { keep } from "./keeper.ts";
import type { Environment } from "./environment.ts";
import { Leadership } from "./leadership.ts";
import { listen, type Listener } from "./listener.ts";
import { HOST } from "./names.ts";
import type { Identity } from "./secret.ts";
import { SERVER_MESSAGES as MESSAGES } from "./messages.ts";

export interface ServerOptions {
  readonly environment: Environment;
  readonly account: Account;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFatal: (error: unknown) => void;
}

export interface Server {
  readonly port: number;
  /** Resolves when every received review is answered. */
  stop(): Promise<void>;
}

const MINUTE_MS = 60_000;
const REQUEST_MS = 5_000;
/** Lets a scheduled run end while its descheduling cycle continues. */
const leave = (): void => undefined;
/**
 * How long the server accepts reviews after it has become unready, in milliseconds. In this time, every node stops
 * sending requests to this server.
 */
const LEAVING_MS = 5_000;

export async function startServer(options: ServerOptions): Promise<Server> {
  const { environment, account, clock, log, onFatal } = options;
  const { cluster, httpsPort, identity } = environment;
  const platform: Platform = {
    fetch: (url, init) => fetch(url, init),
    now: () => clock.now(),
    sleep: (ms) => new Promise((resolve) => clock.setTimer(ms, resolve)),
    timeout: (ms) => AbortSignal.timeout(ms),
    random: Math.random,
    stores: () => relay?.stores,
    trust: (caBundle) => trustIn(caBundle, served),
    log: ({ level = "info", message = "", ...details }) => log(levelOf(level), String(message), details),
  };
  const state = newIsolateState();
  // The relay runs in this process, so the app accepts no events from other processes.
  const app = createApp(platform, state, { takesEvents: false });
  // The first tokens are random, so that the server accepts no request before it has read the Secret.
  let tokens: Omit<Identity, "pair"> = { webhookToken: [randomUUID()], operatorToken: [randomUUID()] };
  let served = "";
  const env = (): Env => {
    const entry = { server: account.server, token: account.token(), ...tokens };
    return { CLUSTERS: JSON.stringify({ [cluster]: entry }) };
  };
  const connect = () => {
    const endpoint = { server: account.server, token: account.token(), headers: {}, fetch: platform.fetch };
    const [signal, onOddItem] = [AbortSignal.timeout(REQUEST_MS), () => undefined];
    return createClient({ endpoint, signal, timeout: platform.timeout, onOddItem });
  };
  const failed = (doing: string) => (error: unknown) => log("error", "failed", { doing, reason: reasonOf(error) });

  const answer = (request: Request, context: ExecutionContext) => app.fetch(request, env(), context);
  const deliver: Deliver = async (events) => {
    const surroundings = { env: env(), platform, state };
    try {
      await actOn(events, targetOf(cluster, await findEntry(cluster, surroundings), surroundings));
      return { result: "accepted" };
    } catch (error) {
      return { result: "unavailable", status: 503, reason: reasonOf(error) };
    }
  };
  let listener: Listener | undefined;
  let relay: Relay | undefined;
  let isLeaving = false;
  const use = async ({ pair, ...rest }: Identity) => {
    tokens = rest;
    served = pair.certPem;
    listener?.present(pair);
    if (listener !== undefined) return;
    const opened = await listen(answer, httpsPort, pair).catch(onFatal);
    if (opened === undefined) return;
    listener = opened;
    relay = startRelay({
      kubeConfig: account.kubeConfig,
      deliver,
      clock,
      random: Math.random,
      log,
      within: leadership,
    });
    log("info", "serving", { port: opened.port });
  };

  const leadership = new Leadership({ identity, connect, clock, onFailure: failed(MESSAGES.holdingLease) });
  /** Returns the metrics of the relay and of this process. The leader also returns the cluster's metrics. */
  const metrics = async () => {
    const headers = { authorization: `Bearer ${tokens.operatorToken[0]}` };
    const request = new Request(`https://${HOST}/clusters/${cluster}/metrics`, { headers });
    const answer = leadership.isLeader() ? await listener?.ask(request) : undefined;
    const texts = [relay?.metrics(), state.reviews.render(), answer?.ok ? await answer.text() : undefined];
    return `${texts.map((text = "") => text.replace(/# EOF\n?$/, "")).join("")}# EOF\n`;
  };
  const isReady = () => listener !== undefined && !isLeaving;
  const probes = await startProbes({ isReady, metrics }, environment.port, clock);

  const stopping = new AbortController();
  const { signal } = stopping;
  /** Runs a tick at each full minute. If a tick lasts longer than a minute, the next full minute is skipped. */
  const keepTicking = async () => {
    while (!signal.aborted) {
      const now = clock.now().getTime();
      const due = (Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS;
      await pause(clock, due - now, signal);
      // Skips the tick until the server has read its tokens. Without them, the tick would report every webhook as
      // misconfigured.
      if (signal.aborted || listener === undefined || !leadership.isLeader()) continue;
      const stays = () => !signal.aborted && leadership.isLeader();
      await runTick(due, { env: env(), platform, state, stays, leave }).catch(failed(MESSAGES.scheduledTick));
    }
  };
  const kept = [
    keep({ connect, clock, use, onFailure: failed(MESSAGES.readingSecret) }, signal),
    leadership.keep(signal),
    keepTicking(),
  ];
  return {
    port: probes.port,
    async stop() {
      isLeaving = true;
      listener?.turnAway();
      stopping.abort();
      await pause(clock, LEAVING_MS, new AbortController().signal);
      await relay?.stop();
      await listener?.close(clock);
      await Promise.all(kept);
      await probes.stop();
    },
  };
}

function levelOf(level: unknown): "info" | "warn" | "error" {
  return level === "error" || level === "warn" ? level : "info";
}
