/** Set by the bundler from package.json; run from source it says so. */
export const AGENT_VERSION: string = process.env.FAIRLEAD_AGENT_VERSION ?? '0.0.0-source';
