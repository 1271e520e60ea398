/** The selection of objects for a list. */

export interface Selection {
  readonly namespace?: string | undefined;
  /** `true`: the label exists, with any value. */
  readonly labels?: Readonly<Record<string, string | readonly string[] | true>>;
  readonly fields?: Readonly<Record<string, string>>;
  /** Fields that have none of these values. Field selectors can compare only for equal and unequal. */
  readonly unlike?: Readonly<Record<string, readonly string[]>>;
  /** The most items to read. Absent: all, page by page. */
  readonly limit?: number;
}

/** Returns the selection as the label selector and the field selector of a request. */
export function selectorsOf({ labels = {}, fields = {}, unlike = {} }: Selection) {
  const ofLabels = Object.entries(labels).map(([key, value]) => {
    if (value === true) return key;
    return typeof value === "string" ? `${key}=${value}` : `${key} in (${value.join(",")})`;
  });
  const ofFields = [
    ...Object.entries(fields).map(([field, value]) => `${field}=${value}`),
    ...Object.entries(unlike).flatMap(([field, values]) => values.map((value) => `${field}!=${value}`)),
  ];
  return {
    ...(ofLabels.length > 0 && { labelSelector: ofLabels.join(",") }),
    ...(ofFields.length > 0 && { fieldSelector: ofFields.join(",") }),
  };
}
