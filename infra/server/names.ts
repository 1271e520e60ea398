/** The names of the server's objects in infra/server/kubernetes. */
import { LIFEBOAT_NAMESPACE } from "../../shared/kube/names.ts";

export const NAMESPACE = LIFEBOAT_NAMESPACE;
/** The name of the Deployment, the Service, the Secret and the Lease. */
export const NAME = "lifeboat-server";
/** The host name of the Service. The server's certificate must contain this name. */
export const HOST = `${NAME}.${NAMESPACE}.svc`;
export const CLUSTER_VARIABLE = "LIFEBOAT_CLUSTER";
export const DEFAULT_CLUSTER = "local";
