/** The mark: a lifebuoy, cut where a light and a dark surface would both show it. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke-width="7"><circle cx="16" cy="16" r="11.5" stroke="#0f7f8c"/><circle cx="16" cy="16" r="11.5" stroke="#f4f7f7" stroke-dasharray="6.02 12.04" stroke-dashoffset="3.01"/></g><g fill="none" stroke="#0a5c66" stroke-width="1.2"><circle cx="16" cy="16" r="15"/><circle cx="16" cy="16" r="8"/></g></svg>
`;
