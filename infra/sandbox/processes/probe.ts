/** Probes the readiness of containers over HTTP. */
import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "../actors/resources.ts";

export interface ProbeOptions {
  readonly portOf: (containerPort: number) => number;
  readonly onResult: (isReady: boolean) => void;
  readonly signal: AbortSignal;
}

const DEFAULTS = { periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 1 };
const FIRST_PERIOD_MS = 200;

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** Probes a container until the signal aborts. A container without a readiness probe is ready immediately. */
export async function probeReadiness(container: Container, { portOf, onResult, signal }: ProbeOptions): Promise<void> {
  const { readinessProbe: probe } = container;
  if (probe?.httpGet === undefined) return onResult(true);
  const { httpGet } = probe;
  const { periodSeconds, failureThreshold, timeoutSeconds } = { ...DEFAULTS, ...probe };
  let failures = failureThreshold;
  while (!signal.aborted) {
    const isPassed = await ask(urlOf(container, httpGet, portOf), timeoutSeconds);
    failures = isPassed ? 0 : failures + 1;
    if (!signal.aborted && (isPassed || failures >= failureThreshold)) onResult(isPassed);
    const pauseMs = failures >= failureThreshold ? FIRST_PERIOD_MS : periodSeconds * 1000;
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

type HttpGet = NonNullable<NonNullable<Container["readinessProbe"]>["httpGet"]>;

function urlOf({ ports = [] }: Container, { scheme, path, port }: HttpGet, portOf: ProbeOptions["portOf"]): string {
  const number = ports.find(({ name }) => name === port)?.containerPort ?? Number(port);
  return `${scheme?.toLowerCase() ?? "http"}://127.0.0.1:${portOf(number)}${path}`;
}

async function ask(url: string, seconds: number): Promise<boolean> {
  try {
    const { ok, body } = await fetch(url, { signal: AbortSignal.timeout(seconds * 1000) });
    await body?.cancel();
    return ok;
  } catch {
    return false;
  }
}
