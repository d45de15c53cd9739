/** The version of Fairlead that this is. */
export const FAIRLEAD_VERSION = '0.1.0';
