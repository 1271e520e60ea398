/** The names of the server's own objects, as in infra/server/kubernetes. */
import { LIFEBOAT_NAMESPACE } from "../../shared/kube/names.ts";

export const NAMESPACE = LIFEBOAT_NAMESPACE;
/** The name of the Deployment, the Service, the Secret and the Lease. */
export const NAME = "lifeboat-server";
/** The host name by which the API server calls the Service. The certificate must contain this name. */
export const HOST = `${NAME}.${NAMESPACE}.svc`;
/** The environment variable that names the cluster in the paths of the endpoints. */
export const CLUSTER_VARIABLE = "LIFEBOAT_CLUSTER";
export const DEFAULT_CLUSTER = "local";
