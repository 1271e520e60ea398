/** Starts Lifeboat in the cluster: `node infra/server/main.ts`. */
import { systemClock } from "../relay/clock.ts";
import { createLog, reasonOf } from "../relay/log.ts";
import { podAccount } from "./account.ts";
import { parseEnvironment } from "./environment.ts";
import { startServer } from "./server.ts";

const log = createLog(systemClock, (line) => process.stdout.write(`${line}\n`));

const parsed = parseEnvironment(process.env);
if (parsed.ok) {
  const environment = parsed.value;
  const account = podAccount(environment.root);
  const onFatal = (error: unknown) => {
    log("error", "cannot listen", { reason: reasonOf(error) });
    process.exit(1);
  };
  const server = await startServer({ environment, account, clock: systemClock, log, onFatal });
  log("info", "started", { server: account.server, port: server.port });
  const stop = async () => {
    log("info", "stopping");
    await server.stop();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => void stop());
} else {
  for (const { field, message } of parsed.problems)
    log("error", "invalid environment", { variable: field, problem: message });
  process.exitCode = 2;
}
