/** The relay as a process: `node infra/relay/main.ts`. */
import { KubeConfig } from "@kubernetes/client-node";
import { systemClock } from "./clock.ts";
import { type Config, parseRelayEnvironment } from "./config.ts";
import { createLog } from "./log.ts";
import { startRelay } from "./relay.ts";
import { overHttp } from "./send.ts";
import { startProbes } from "./probes.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

const log = createLog(systemClock, (line) => process.stdout.write(`${line}\n`));

function kubeConfigOf({ kubeconfig }: Config): KubeConfig {
  const kubeConfig = new KubeConfig();
  if (kubeconfig === undefined) kubeConfig.loadFromCluster();
  else kubeConfig.loadFromFile(kubeconfig);
  return kubeConfig;
}

const parsed = parseRelayEnvironment(process.env);
if (parsed.ok) {
  const { endpoint, secret, port } = parsed.value;
  const kubeConfig = kubeConfigOf(parsed.value);
  const relay = startRelay({
    kubeConfig,
    deliver: overHttp({ endpoint, secret, clock: systemClock, fetch: globalThis.fetch }),
    clock: systemClock,
    random: Math.random,
    log,
  });
  const server = await startProbes(relay, port, systemClock);
  log("info", MESSAGES.started, {
    server: kubeConfig.getCurrentCluster()?.server,
    endpoint: endpoint.href,
    port: server.port,
  });

  const stop = async () => {
    log("info", MESSAGES.stopping);
    await relay.stop();
    await server.stop();
    // Ends the process, because nothing can stop client-node while it reads the credentials for a request.
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => void stop());
} else {
  for (const { field, message } of parsed.problems)
    log("error", MESSAGES.invalidEnvironment, { variable: field, problem: message });
  process.exitCode = 2;
}
