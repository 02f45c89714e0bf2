import type { components } from "./schema";

/** The server's names for what the pages show; the shapes are generated from its OpenAPI. */
type Schemas = components["schemas"];

export type ActivationEvent = Schemas["ActivationEvent"];
export type ChangeEvent = Schemas["ChangeEvent"];
export type Figure = Schemas["Figure"];
export type FigureBody = Schemas["PlotlyFigure"];
export type FigureTable = Schemas["FigureTable"];
export type Job = Schemas["Job"];
export type JobPage = Schemas["JobPage"];
export type JobState = JobSummary["state"];
export type JobSummary = Schemas["JobSummary"];
export type MixChange = Schemas["MixChange"];
export type MixEdit = Schemas["MixEdit"];
export type MixEvent = Schemas["MixEvent"];
export type MixPreview = Schemas["MixPreview"];
export type MixVersion = Schemas["MixVersion"];
export type Problem = Schemas["Problem"];
export type RankState = Schemas["RankState"];
export type Session = Schemas["SessionReply"];
export type SnapshotEvent = Schemas["SnapshotEvent"];
