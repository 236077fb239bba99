"""Programs beside the design that carry its bytes over TCP; they are copied into a project and stand alone."""
