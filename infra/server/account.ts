/**
 * The pod's own service account: where its API server is, and with what to ask it.
 *
 * The kubelet replaces a token before it ends, and an authority when the cluster gets a new one. Both are read again with each use: a few
 * microseconds, and no replica ever sends an old one.
 */
import { readFileSync } from "node:fs";
import { setDefaultCACertificates } from "node:tls";
import { KubeConfig } from "@kubernetes/client-node";

export interface Account {
  /** The API server's URL. */
  readonly server: string;
  /** For the relay's watches: client-node reads the token's file again every minute. */
  readonly kubeConfig: KubeConfig;
  token(): string;
}

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

export function podAccount(root: string): Account {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromCluster(root);
  const server = kubeConfig.getCurrentCluster()?.server;
  if (server === undefined) throw new Error("expected to run in a pod");
  const read = (file: string) => readFileSync(`${root}${FOLDER}/${file}`, "utf8");
  let trusted = "";
  return {
    server,
    kubeConfig,
    token() {
      // One, or two while the cluster changes from one to the other.
      const authority = read("ca.crt");
      // The server talks to no one but its API server, so it needs to trust no other authority.
      if (authority !== trusted)
        setDefaultCACertificates(authority.split(/(?<=-----END CERTIFICATE-----)\s+/).filter(Boolean));
      trusted = authority;
      return read("token").trim();
    },
  };
}
