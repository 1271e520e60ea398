export type { Right } from "../kube/reviews.ts";
