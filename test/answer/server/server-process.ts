/** Lifeboat in the cluster, as a child of a test: the server that is shipped. */
import { setDefaultCACertificates } from "node:tls";
import { systemClock } from "../../../infra/relay/clock.ts";
import { kubeconfigOf } from "../../../infra/sandbox/index.ts";
import { startServer } from "../../../infra/server/server.ts";
import { Arguments } from "./measured-server.ts";

const { url, caPem, token } = Arguments.parse(JSON.parse(process.argv[2] ?? ""));
setDefaultCACertificates([caPem]);
await startServer({
  environment: { cluster: "local", identity: `measured-${process.pid}`, httpsPort: 0, port: 0, root: "" },
  account: { server: url, kubeConfig: kubeconfigOf({ url, caPem, user: "measured", token }), token: () => token },
  clock: systemClock,
  log: (_level, message, { port } = {}) => {
    if (message === "serving") process.send?.({ port });
  },
  onFatal: (error) => {
    throw error;
  },
});

process.on("message", () => process.send?.({ rss: process.memoryUsage().rss }));
process.on("disconnect", () => process.exit());
