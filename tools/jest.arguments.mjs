/** What jest is told for the specs, and for the stories that run the whole product. */
export const SPECS = ['--maxWorkers=2', '--testPathIgnorePatterns', '\\.e2e\\.spec\\.ts$'];
// In one process, where whatever a story leaves open would keep the run from ending; specs have to end by themselves.
export const STORIES = ['--maxWorkers=1', '--forceExit', '--testMatch', '**/*.e2e.spec.ts'];

/** Filters come first: behind an option that takes a list they would be taken for more of it. */
export const jestArguments = (filters, options) => [...filters, '--passWithNoTests', ...options];
