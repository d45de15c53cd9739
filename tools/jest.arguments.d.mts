export declare const SPECS: readonly string[];
export declare const STORIES: readonly string[];
export declare const LONG_STORIES: readonly string[];
export declare const SHORT: readonly string[];
export declare const LONG: readonly string[];
export declare const CRASHES: readonly string[];
export declare const SEEDED: readonly string[];
export declare const QUICK: readonly string[];
export declare const jestArguments: (filters: readonly string[], options: readonly string[]) => readonly string[];
