/**
 * Reads the API server's address, and the token and the CA of the pod's service account. Reads both files at each use,
 * because the kubelet replaces them.
 */
import { readFileSync } from "node:fs";
import { setDefaultCACertificates } from "node:tls";
import { KubeConfig } from "@kubernetes/client-node";
import { SERVER_MESSAGES as MESSAGES } from "./messages.ts";

export interface Account {
  readonly server: string;
  /** The kubeconfig for the relay's watches. client-node reads the token's file again every minute. */
  readonly kubeConfig: KubeConfig;
  token(): string;
}

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

export function podAccount(root: string): Account {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromCluster(root);
  const server = kubeConfig.getCurrentCluster()?.server;
  if (server === undefined) throw new Error(MESSAGES.notInPod);
  const read = (file: string) => readFileSync(`${root}${FOLDER}/${file}`, "utf8");
  let trusted = "";
  return {
    server,
    kubeConfig,
    token() {
      // Splits ca.crt, because the file contains two certificates while the cluster's CA is replaced.
      const authority = read("ca.crt");
      if (authority !== trusted)
        setDefaultCACertificates(authority.split(/(?<=-----END CERTIFICATE-----)\s+/).filter(Boolean));
      trusted = authority;
      return read("token").trim();
    },
  };
}
