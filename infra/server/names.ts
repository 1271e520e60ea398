/** What the server's own objects are called, as infra/server/kubernetes has them. */
import { LIFEBOAT_NAMESPACE } from "../../shared/kube/names.ts";

export const NAMESPACE = LIFEBOAT_NAMESPACE;
/** Of the Deployment, the Service, the Secret and the Lease. */
export const NAME = "lifeboat-server";
/** As the API server calls the Service, and expects in its certificate. */
export const HOST = `${NAME}.${NAMESPACE}.svc`;
/** Those that are not installed are left alone. */
export const WEBHOOK_CONFIGURATIONS = ["lifeboat", "lifeboat-guard"] as const;
