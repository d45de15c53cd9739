export declare const SPECS: readonly string[];
export declare const STORIES: readonly string[];
export declare const jestArguments: (filters: readonly string[], options: readonly string[]) => readonly string[];
