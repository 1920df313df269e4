mod theory;
