/** Files and folders whose text the platform itself has written, with the reason. */
export const OWN_DATA: Readonly<Record<string, string>>;
export const foreignText: object;
