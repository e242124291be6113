"""Text -> vectors, outcomes -> behavioural summaries."""
